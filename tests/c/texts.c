/* Test of the ownership of texts: input is not kept after the call; output is valid until it is freed, also after the
 * stack is closed. */
#include "check.h"

static void the_callers_texts_are_not_kept(Callstack *stack) {
    CallstackText frame;
    char *json = (char *)malloc(64);
    strcpy(json, "{\"title\": \"Short\", \"sessionID\": \"own\"}");
    OK(callstack_push(stack, TEXT(json), NULL, &error));
    memset(json, 'x', 64);
    free(json);
    OK(callstack_frame(stack, TEXT("own"), &frame, &error));
    CHECK(strstr(frame.data, "\"title\":\"Short\"") != NULL);
    callstack_text_free(&frame);
}

static void the_length_counts_and_not_the_end(Callstack *stack) {
    CallstackText frame;
    /* Without a NUL at the end: valgrind reports a read beyond the length. */
    char *tight = (char *)malloc(3);
    CallstackView whole = {NULL, 3}, shorter = {"ownX", 3}, longer = {"ownX", 4};
    memcpy(tight, "own", 3);
    whole.data = tight;
    OK(callstack_frame(stack, whole, &frame, &error));
    callstack_text_free(&frame);
    OK(callstack_frame(stack, shorter, &frame, &error));
    callstack_text_free(&frame);
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME, callstack_frame(stack, longer, &frame, &error));
    CHECK(frame.data == NULL && frame.len == 0);
    free(tight);
}

static void a_nul_is_a_character_like_others(Callstack *stack) {
    static const char text[] = "before\0after";
    CallstackView decision = {text, sizeof text - 1};
    CallstackText frame, outline;
    OK(callstack_add_decision(stack, TEXT("own"), decision, &error));
    OK(callstack_frame(stack, TEXT("own"), &frame, &error));
    CHECK(strstr(frame.data, "before\\u0000after") != NULL);
    callstack_text_free(&frame);
    OK(callstack_push(stack, TEXT("{\"title\": \"N\\u0000L\", \"sessionID\": \"nul\"}"), NULL, &error));
    OK(callstack_outline(stack, CALLSTACK_NONE, &outline, &error));
    CHECK(outline.data[outline.len] == '\0');
    callstack_text_free(&outline);
}

static void outputs_are_emptied_first(Callstack *stack) {
    CallstackContext context;
    CallstackText report;
    memset(&context, 0xab, sizeof context);
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME,
          callstack_context(stack, TEXT("nobody"), CALLSTACK_NONE, &context, &error));
    CHECK(!context.xml.data && !context.stable.data && !context.changing.data && !context.owner);
    CHECK(!context.xml.len && !context.stable.len && !context.changing.len);
    memset(&report, 0xab, sizeof report);
    FAILS(CALLSTACK_ERROR_NULL, callstack_context_report(&context, &report, &error));
    CHECK(!report.data && !report.len);
    /* An output that is not needed may be NULL. */
    OK(callstack_context(stack, TEXT("own"), CALLSTACK_NONE, NULL, &error));
}

/* Contexts of the same frame can share their texts. Each one is freed by itself, and the others stay. */
static void contexts_last_until_they_are_freed(Callstack *stack) {
    CallstackContext first = context_of(stack, "own"), second = context_of(stack, "own");
    CallstackText report;
    CHECK(begins_with(first.xml, "<stack-context") && begins_with(first.stable, "<stack-context"));
    CHECK(begins_with(first.changing, "<stack-now"));
    callstack_context_free(&first);
    CHECK(!first.xml.data && !first.stable.data && !first.changing.data && !first.owner);
    callstack_context_free(&first);
    OK(callstack_clear_cache(stack, CALLSTACK_NONE, &error));
    CHECK(contains(second.xml, "<title>Short</title>"));
    OK(callstack_context_report(&second, &report, &error));
    CHECK(strlen(report.data) == report.len && report.data[0] == '{');
    callstack_text_free(&report);
    callstack_context_free(&second);
    callstack_context_free(NULL);
}

/* The contexts of a list are freed one by one. */
static void contexts_of_a_list(Callstack *stack) {
    CallstackView frames[3];
    CallstackView settings = TEXT("{\"guidance\": \"none\"}");
    CallstackContext contexts[3];
    int place;
    for (place = 0; place < 3; place++)
        frames[place] = TEXT("own");
    OK(callstack_contexts(stack, frames, 3, &settings, contexts, &error));
    for (place = 0; place < 3; place++) {
        CHECK(begins_with(contexts[place].xml, "<stack-context"));
        callstack_context_free(&contexts[place]);
    }
    OK(callstack_contexts(stack, frames, 1, NULL, contexts, &error));
    callstack_context_free(contexts);
    OK(callstack_contexts(stack, NULL, 0, NULL, NULL, &error));
    frames[2] = TEXT("nothing");
    memset(contexts, 0xab, sizeof contexts);
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME, callstack_contexts(stack, frames, 3, NULL, contexts, &error));
    CHECK(!contexts[0].owner && !contexts[2].xml.data);
    FAILS(CALLSTACK_ERROR_NULL, callstack_contexts(stack, NULL, 1, NULL, contexts, &error));
}

int main(int argc, char **argv) {
    Callstack *stack = in_memory();
    CallstackText text, huge_frame;
    CallstackContext big;
    CallstackView long_decision;
    size_t size = 1024 * 1024;
    char *decision = (char *)malloc(size);
    (void)argc;
    (void)argv;
    the_callers_texts_are_not_kept(stack);
    the_length_counts_and_not_the_end(stack);
    a_nul_is_a_character_like_others(stack);
    outputs_are_emptied_first(stack);
    contexts_last_until_they_are_freed(stack);
    contexts_of_a_list(stack);

    memset(decision, 'd', size);
    long_decision.data = decision;
    long_decision.len = size;
    OK(callstack_add_decision(stack, TEXT("own"), long_decision, &error));
    free(decision);
    OK(callstack_frame(stack, TEXT("own"), &huge_frame, &error));
    CHECK(huge_frame.len > size && strlen(huge_frame.data) == huge_frame.len);
    big = context_of(stack, "own");
    CHECK(big.xml.len < 40000);

    /* An empty output is a text with data, not NULL. */
    OK(callstack_pop(stack, TEXT("own"), TEXT("{\"status\": \"completed\"}"), NULL, &error));
    OK(callstack_pop(stack, TEXT("nul"), TEXT("{\"status\": \"completed\"}"), NULL, &error));
    OK(callstack_active(stack, &text, &error));
    CHECK(text.data != NULL && text.len == 0);
    CHECK_TEXT(text.data, "");

    /* Texts and contexts stay valid after the stack is closed. */
    close_stack(stack);
    CHECK(big.xml.data[big.xml.len - 1] == '>' || big.xml.data[big.xml.len - 1] == '\n');
    callstack_context_free(&big);
    CHECK(big.xml.data == NULL && big.xml.len == 0);
    callstack_context_free(&big);
    callstack_text_free(&text);
    CHECK(huge_frame.data[huge_frame.len - 1] == '}');
    callstack_text_free(&huge_frame);
    CHECK(huge_frame.data == NULL && huge_frame.len == 0);
    callstack_text_free(&huge_frame);
    callstack_text_free(NULL);
    return 0;
}
