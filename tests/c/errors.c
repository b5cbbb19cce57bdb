/* Test of error objects: code, name, message and details; failed calls change nothing; a second free is harmless. */
#include "check.h"

int main(int argc, char **argv) {
    Callstack *stack = in_memory();
    CallstackError *error = NULL, *stale = NULL;
    CallstackText before, after;
    int i;
    (void)argc;
    (void)argv;
    push(stack, "{\"title\": \"Build\", \"sessionID\": \"ses_1\"}");
    OK(callstack_state(stack, &before, &error));

    CHECK(callstack_activate(stack, TEXT("f9"), &error) == CALLSTACK_ERROR_UNKNOWN_FRAME);
    CHECK(callstack_error_code(error) == CALLSTACK_ERROR_UNKNOWN_FRAME);
    CHECK_TEXT(callstack_error_name(error), "unknown_frame");
    CHECK_TEXT(callstack_error_message(error),
               "no frame matches `f9`: it is not a handle, a title, an ID or its beginning; give a handle such as f1");
    CHECK_TEXT(callstack_error_details(error), "{\"reference\":\"f9\"}");

    /* A successful call overwrites the pointer to the error, but does not free the error. */
    stale = error;
    CHECK(callstack_flush(stack, &error) == CALLSTACK_OK);
    CHECK(error == NULL);
    callstack_error_free(&stale);
    CHECK(stale == NULL);
    callstack_error_free(&stale);
    callstack_error_free(NULL);

    /* NULL instead of an error gives CALLSTACK_OK and empty texts. */
    CHECK(callstack_error_code(NULL) == CALLSTACK_OK);
    CHECK_TEXT(callstack_error_name(NULL), "");
    CHECK_TEXT(callstack_error_message(NULL), "");
    CHECK_TEXT(callstack_error_details(NULL), "");

    FAILS(CALLSTACK_ERROR_TRANSITION, callstack_activate(stack, TEXT("f1"), &error));
    FAILS(CALLSTACK_ERROR_DUPLICATE_ID, callstack_push(stack, TEXT("{\"title\": \"B\", \"sessionID\": \"ses_1\"}"), NULL, &error));
    FAILS(CALLSTACK_ERROR_EMPTY, callstack_add_decision(stack, TEXT("f1"), CALLSTACK_NONE, &error));
    FAILS(CALLSTACK_ERROR_IDENTITY_FIXED, callstack_identify(stack, TEXT("f1"), TEXT("{\"title\": \"B\"}"), &error));
    FAILS(CALLSTACK_ERROR_IN_MEMORY, callstack_append_log(stack, TEXT("f1"), TEXT("[1]"), &error));
    FAILS(CALLSTACK_ERROR_JSON, callstack_pop(stack, TEXT("f1"), TEXT("{\"status\": \"planned\"}"), NULL, &error));
    FAILS(CALLSTACK_ERROR_SETTING, callstack_set_limits(stack, TEXT("f1"), TEXT("{\"maxTurns\": 0}"), &error));
    FAILS(CALLSTACK_ERROR_NOT_BLOCKED, callstack_answer(stack, TEXT("f1"), TEXT("20 %"), &error));
    FAILS(CALLSTACK_ERROR_JSON, callstack_push(stack, TEXT("{\"title\": "), NULL, &error));
    FAILS(CALLSTACK_ERROR_BUDGET_TOO_SMALL,
          callstack_context(stack, TEXT("f1"), TEXT("{\"budget\": {\"total\": 3}}"), NULL, &error));
    /* Without an error object the caller still gets the code. */
    for (i = 0; i < 1000; i++)
        CHECK(callstack_resolve(stack, TEXT("nobody"), NULL, NULL) == CALLSTACK_ERROR_UNKNOWN_FRAME);

    OK(callstack_state(stack, &after, &error));
    CHECK_TEXT(after.data, before.data);
    callstack_text_free(&before);
    callstack_text_free(&after);
    close_stack(stack);
    return 0;
}
