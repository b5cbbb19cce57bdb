/* Test of the ownership of texts: input is not kept after the call; output is valid until it is freed, also after the
 * stack is closed. */
#include "check.h"

static void the_callers_texts_are_not_kept(Callstack *stack) {
    CallstackText frame;
    char *json = (char *)malloc(64);
    strcpy(json, "{\"title\": \"Short\", \"sessionID\": \"own\"}");
    OK(callstack_push(stack, json, strlen(json), NULL, &error));
    memset(json, 'x', 64);
    free(json);
    OK(callstack_frame(stack, TEXT("own"), &frame, &error));
    CHECK(strstr(frame.data, "\"title\":\"Short\"") != NULL);
    callstack_text_free(&frame);
}

static void the_length_counts_and_not_the_end(Callstack *stack) {
    CallstackText frame;
    char exact[4];
    /* Without a NUL at the end: valgrind reports a read beyond the length. */
    char *tight = (char *)malloc(3);
    memcpy(tight, "own", 3);
    memcpy(exact, "ownX", 4);
    OK(callstack_frame(stack, tight, 3, &frame, &error));
    callstack_text_free(&frame);
    OK(callstack_frame(stack, exact, 3, &frame, &error));
    callstack_text_free(&frame);
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME, callstack_frame(stack, exact, 4, &frame, &error));
    CHECK(frame.data == NULL && frame.len == 0);
    free(tight);
}

static void a_nul_is_a_character_like_others(Callstack *stack) {
    static const char decision[] = "before\0after";
    CallstackText frame, outline;
    OK(callstack_add_decision(stack, TEXT("own"), decision, sizeof decision - 1, &error));
    OK(callstack_frame(stack, TEXT("own"), &frame, &error));
    CHECK(strstr(frame.data, "before\\u0000after") != NULL);
    callstack_text_free(&frame);
    OK(callstack_push(stack, TEXT("{\"title\": \"N\\u0000L\", \"sessionID\": \"nul\"}"), NULL, &error));
    OK(callstack_outline(stack, NULL, 0, &outline, &error));
    CHECK(outline.data[outline.len] == '\0');
    callstack_text_free(&outline);
}

static void outputs_are_emptied_first(Callstack *stack) {
    CallstackText parts[4], *xml = &parts[0], *stable = &parts[1], *turning = &parts[2], *report = &parts[3];
    memset(parts, 0xab, sizeof parts);
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME,
          callstack_context(stack, TEXT("nobody"), NULL, 0, xml, stable, turning, report, &error));
    CHECK(!xml->data && !stable->data && !turning->data && !report->data);
    CHECK(!xml->len && !stable->len && !turning->len && !report->len);
    /* Only requested outputs are made, and each has its own text. */
    memset(parts, 0xab, sizeof parts);
    OK(callstack_context(stack, TEXT("own"), NULL, 0, NULL, stable, NULL, report, &error));
    CHECK(strlen(stable->data) == stable->len && strlen(report->data) == report->len);
    CHECK(strncmp(stable->data, "<stack-context", 14) == 0 && report->data[0] == '{');
    callstack_text_free(stable);
    callstack_text_free(report);
}

int main(int argc, char **argv) {
    Callstack *stack = in_memory();
    CallstackText text, big, huge_frame;
    size_t size = 1024 * 1024;
    char *decision = (char *)malloc(size);
    (void)argc;
    (void)argv;
    the_callers_texts_are_not_kept(stack);
    the_length_counts_and_not_the_end(stack);
    a_nul_is_a_character_like_others(stack);
    outputs_are_emptied_first(stack);

    memset(decision, 'd', size);
    OK(callstack_add_decision(stack, TEXT("own"), decision, size, &error));
    free(decision);
    OK(callstack_frame(stack, TEXT("own"), &huge_frame, &error));
    CHECK(huge_frame.len > size && strlen(huge_frame.data) == huge_frame.len);
    OK(callstack_context(stack, TEXT("own"), NULL, 0, &big, NULL, NULL, NULL, &error));
    CHECK(big.len < 40000);

    /* An empty output is a text with data, not NULL. */
    OK(callstack_pop(stack, TEXT("own"), CALLSTACK_STATUS_COMPLETED, NULL, 0, NULL, 0, NULL, &error));
    OK(callstack_pop(stack, TEXT("nul"), CALLSTACK_STATUS_COMPLETED, NULL, 0, NULL, 0, NULL, &error));
    OK(callstack_active(stack, &text, &error));
    CHECK(text.data != NULL && text.len == 0);
    CHECK_TEXT(text.data, "");

    /* Texts stay valid after the stack is closed. */
    close_stack(stack);
    CHECK(big.data[big.len - 1] == '>' || big.data[big.len - 1] == '\n');
    callstack_text_free(&big);
    CHECK(big.data == NULL && big.len == 0);
    callstack_text_free(&big);
    callstack_text_free(&text);
    callstack_text_free(&huge_frame);
    callstack_text_free(NULL);
    return 0;
}
