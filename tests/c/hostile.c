/* Test of invalid arguments: NULL, lengths, UTF-8 and JSON. */
#include "check.h"

static const char *const no_utf8[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", NULL};

int main(int argc, char **argv) {
    Callstack *stack = in_memory(), *none = NULL;
    CallstackText text;
    CallstackContext context;
    CallstackView no_data = {NULL, 1}, too_long = {"f1", (size_t)-1}, half = {"{}", ((size_t)-1) / 2 + 1};
    CallstackView cut = {"{\"title\": \"Build\"}", 9}, nested;
    size_t deep = 1000000, i;
    char *json = (char *)malloc(2 * deep);
    (void)argc;
    (void)argv;
    push(stack, "{\"title\": \"Build\", \"sessionID\": \"ses_1\"}");

    /* NULL for required pointers. */
    FAILS(CALLSTACK_ERROR_NULL, callstack_push(NULL, TEXT("{}"), &text, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_context(NULL, TEXT("f1"), CALLSTACK_NONE, &context, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_in_memory(CALLSTACK_NONE, NULL, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_open(TEXT("folder"), CALLSTACK_NONE, NULL, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_frame(stack, no_data, &text, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_outline(stack, no_data, &text, &error));
    /* The empty text is a reference that matches no frame. */
    FAILS(CALLSTACK_ERROR_UNKNOWN_FRAME, callstack_frame(stack, CALLSTACK_NONE, &text, &error));
    CHECK(text.data == NULL);

    /* A missing folder is an error: the stack must not silently be in memory, where all data would be lost. */
    FAILS(CALLSTACK_ERROR_EMPTY, callstack_open(CALLSTACK_NONE, CALLSTACK_NONE, &none, &error));
    FAILS(CALLSTACK_ERROR_EMPTY, callstack_open(TEXT(""), CALLSTACK_NONE, &none, &error));
    CHECK(none == NULL);

    /* Lengths that no text can have. */
    FAILS(CALLSTACK_ERROR_LENGTH, callstack_frame(stack, too_long, &text, &error));
    FAILS(CALLSTACK_ERROR_LENGTH, callstack_push(stack, half, &text, &error));
    /* A length that is too short cuts the text, so the JSON is incomplete. */
    FAILS(CALLSTACK_ERROR_JSON, callstack_push(stack, cut, &text, &error));

    for (i = 0; no_utf8[i] != NULL; i++) {
        FAILS(CALLSTACK_ERROR_UTF8, callstack_frame(stack, TEXT(no_utf8[i]), &text, &error));
        FAILS(CALLSTACK_ERROR_UTF8, callstack_add_decision(stack, TEXT("f1"), TEXT(no_utf8[i]), &error));
        FAILS(CALLSTACK_ERROR_UTF8, callstack_history(stack, TEXT(no_utf8[i]), &text, &error));
    }

    /* Large JSON with a million levels. */
    memset(json, '[', deep);
    memset(json + deep, ']', deep);
    nested.data = json;
    nested.len = 2 * deep;
    FAILS(CALLSTACK_ERROR_JSON, callstack_push(stack, nested, &text, &error));
    FAILS(CALLSTACK_ERROR_JSON, callstack_plan_children(stack, TEXT("f1"), nested, &text, &error));
    FAILS(CALLSTACK_ERROR_JSON, callstack_import_plan(stack, nested, &text, &error));
    free(json);

    /* A context that is empty, or was freed, has no report. */
    context = context_of(stack, "f1");
    callstack_context_free(&context);
    callstack_context_free(&context);
    FAILS(CALLSTACK_ERROR_NULL, callstack_context_report(&context, &text, &error));
    FAILS(CALLSTACK_ERROR_NULL, callstack_context_report(NULL, &text, &error));
    OK(callstack_active(stack, &text, &error));
    callstack_text_free(&text);
    callstack_text_free(&text);
    close_stack(stack);
    return 0;
}
