/* Test of opening and closing: in memory, in a folder, twice at the same time, from a state, from a history. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "check.h"

static void a_wrong_variable_is_reported_and_the_others_count(void) {
    CallstackText settings, problems;
    setenv("STACK_TOKEN_BUDGET_TOTAL", "9000", 1);
    setenv("STACK_TOKEN_BUDGET_CURRENT", "many", 1);
    OK(callstack_settings(&settings, &problems, &error));
    CHECK(strstr(settings.data, "\"total\":9000") && strstr(settings.data, "\"current\":800"));
    CHECK(strstr(problems.data, "[\"STACK_TOKEN_BUDGET_CURRENT is `many`") == problems.data);
    callstack_text_free(&settings);
    callstack_text_free(&problems);
    unsetenv("STACK_TOKEN_BUDGET_TOTAL");
    unsetenv("STACK_TOKEN_BUDGET_CURRENT");
}

static void a_request_is_folded(void) {
    static const char request[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Build.\"},"
        "{\"role\": \"assistant\", \"content\": [{\"type\": \"tool_use\", \"id\": \"1\", \"name\": \"mcp__callstack__push\", \"input\": {}}]},"
        "{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"1\","
        " \"content\": \"f1 (Cart) has begun.\\nYou are in f1 (Cart).\"}]},"
        "{\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"What is there?\"}, {\"type\": \"tool_use\", \"id\": \"2\","
        " \"name\": \"mcp__callstack__pop\", \"input\": {\"status\": \"completed\", \"results\": \"cart.c adds up\"}}]},"
        "{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"2\","
        " \"content\": \"f1 (Cart) is completed.\\nYou are in no frame.\"}]}]}";
    CallstackText folded, report;
    OK(callstack_fold(TEXT("anthropic"), TEXT(request), CALLSTACK_NONE, &folded, &report, &error));
    CHECK(strstr(folded.data, "f1 (Cart) is completed.\\nResults: cart.c adds up") && !strstr(folded.data, "What is there?"));
    CHECK(strstr(report.data, "{\"stretches\":[{\"frame\":\"f1\",\"status\":\"completed\",\"items\":3,") == report.data);
    callstack_text_free(&folded);
    callstack_text_free(&report);
    OK(callstack_fold(TEXT("anthropic"), TEXT("no request"), TEXT("{\"server\": \"frames\"}"), &folded, NULL, &error));
    CHECK_TEXT(folded.data, "no request");
    callstack_text_free(&folded);
    FAILS(CALLSTACK_ERROR_SETTING, callstack_fold(TEXT("morse"), TEXT(request), CALLSTACK_NONE, &folded, NULL, &error));
    FAILS(CALLSTACK_ERROR_JSON, callstack_fold(TEXT("chat"), TEXT(request), TEXT("{\"x\": 1}"), &folded, NULL, &error));
}

static void only_what_has_changed_is_told(void) {
    CallstackText text;
    const char *before = "<stack-now>\n<position>Task 1 of 2</position>\n<next-action>Begin f3</next-action>\n</stack-now>\n";
    const char *now = "<stack-now>\n<position>Task 1 of 2</position>\n<next-action>Finish</next-action>\n</stack-now>\n";
    OK(callstack_context_changes(TEXT(before), TEXT(now), &text, &error));
    CHECK_TEXT(text.data, "<stack-now shows=\"only what has changed\">\n<next-action>Finish</next-action>\n</stack-now>\n");
    callstack_text_free(&text);
    OK(callstack_context_changes(TEXT(now), TEXT(now), &text, &error));
    CHECK_TEXT(text.data, "");
    callstack_text_free(&text);
}

static void limits_and_corrections(void) {
    Callstack *stack = in_memory();
    CallstackText text;
    push(stack, "{\"title\": \"Shop\"}");
    OK(callstack_set_limits(stack, TEXT("f1"), TEXT("{\"maxCostMicroUsd\": 100000, \"tools\": [\"Read\"]}"), &error));
    push(stack, "{\"title\": \"Cart\", \"parent\": \"f1\"}");
    FAILS(CALLSTACK_ERROR_TOOLS_EXCEED, callstack_set_limits(stack, TEXT("f2"), TEXT("{\"tools\": [\"Bash\"]}"), &error));
    FAILS(CALLSTACK_ERROR_SETTING, callstack_set_limits(stack, TEXT("f2"), TEXT("{\"maxTurns\": 0}"), &error));
    OK(callstack_record_cost(stack, TEXT("f2"), TEXT("{\"conversation\": \"ses\", \"costMicroUsd\": 60000}"), &error));
    OK(callstack_allowance(stack, TEXT("f2"), &text, &error));
    CHECK(strstr(text.data, "\"maxCostMicroUsd\":40000"));
    callstack_text_free(&text);
    OK(callstack_overspent(stack, TEXT("f2"), &text, &error));
    CHECK_TEXT(text.data, "null");
    callstack_text_free(&text);
    OK(callstack_pop(stack, TEXT("f2"), TEXT("{\"status\": \"completed\", \"results\": \"Totals\"}"), NULL, &error));
    FAILS(CALLSTACK_ERROR_EMPTY, callstack_reopen(stack, TEXT("f2"), TEXT(" "), NULL, &error));
    OK(callstack_reopen(stack, TEXT("f2"), TEXT("taxes are missing"), &text, &error));
    CHECK(strstr(text.data, "\"handle\":\"f2\""));
    callstack_text_free(&text);
    FAILS(CALLSTACK_ERROR_NOTHING_TO_UNDO, callstack_undo(stack, NULL, &error));
    close_stack(stack);
}

static void check_handles(const Callstack *stack, const char *expected) {
    CallstackText handles;
    OK(callstack_handles(stack, CALLSTACK_NONE, &handles, &error));
    CHECK_TEXT(handles.data, expected);
    callstack_text_free(&handles);
}

static void a_folder_lasts(const char *folder) {
    Callstack *stack = open_folder(folder), *other = NULL;
    CallstackText text;
    int32_t is_new = 0;
    uint64_t deadline = 1;
    push(stack, "{\"title\": \"Build\", \"sessionID\": \"ses_1\"}");
    other = open_folder(folder);
    push(other, "{\"title\": \"Parse\", \"sessionID\": \"ses_2\", \"parent\": \"ses_1\"}");
    OK(callstack_refresh(stack, &is_new, &error));
    CHECK(is_new == 1);
    check_handles(stack, "[\"f1\",\"f2\"]");
    close_stack(other);
    OK(callstack_block(stack, TEXT("f2"), TEXT("{\"question\": \"Which grammar?\"}"), NULL, &error));
    OK(callstack_answer(stack, TEXT("f2"), TEXT("LL(1)"), &error));
    OK(callstack_resume(stack, TEXT("f2"), &error));
    OK(callstack_pop(stack, TEXT("f2"),
                     TEXT("{\"status\": \"completed\", \"results\": \"It parses\", \"resultsCompacted\": \"parses\"}"),
                     &text, &error));
    CHECK_TEXT(text.data, "{\"handle\":\"f2\",\"parent\":\"f1\",\"active\":\"f1\",\"stillOpen\":[],\"stillPlanned\":[]}");
    callstack_text_free(&text);
    push(stack, "{\"title\": \"Print\", \"parent\": \"f1\"}");
    OK(callstack_pop(stack, TEXT("f3"), TEXT("{\"status\": \"failed\", \"results\": \"wet paper\"}"), NULL, &error));
    OK(callstack_retry(stack, TEXT("f3"), TEXT("dry it"), &text, &error));
    CHECK_TEXT(text.data, "{\"handle\":\"f4\",\"attempt\":2,\"invalidated\":[],\"stillOpen\":[]}");
    callstack_text_free(&text);
    FAILS(CALLSTACK_ERROR_NOT_RETRIABLE, callstack_retry(stack, TEXT("f3"), CALLSTACK_NONE, NULL, &error));
    OK(callstack_flush(stack, &error));
    OK(callstack_deadline(stack, &deadline, &error));
    CHECK(deadline == 0);
    OK(callstack_poll(stack, NULL, &error));
    close_stack(stack);

    stack = open_folder(folder);
    check_handles(stack, "[\"f1\",\"f2\",\"f3\",\"f4\"]");
    OK(callstack_active(stack, &text, &error));
    CHECK_TEXT(text.data, "f1");
    callstack_text_free(&text);
    close_stack(stack);
}

static void a_history_makes_the_stack_again(const char *folder, const char *copy) {
    Callstack *stack = open_folder(folder), *rebuilt = NULL, *read = NULL;
    CallstackText history, state, again;
    OK(callstack_export_history(stack, &history, &error));
    OK(callstack_state(stack, &state, &error));
    close_stack(stack);

    OK(callstack_rebuild(TEXT(copy), TEXT(history.data), CALLSTACK_NONE, &rebuilt, &error));
    OK(callstack_state(rebuilt, &again, &error));
    CHECK_TEXT(again.data, state.data);
    callstack_text_free(&again);
    close_stack(rebuilt);
    rebuilt = (Callstack *)&again;
    FAILS(CALLSTACK_ERROR_NOT_EMPTY, callstack_rebuild(TEXT(copy), TEXT(history.data), CALLSTACK_NONE, &rebuilt, &error));
    CHECK(rebuilt == NULL);

    OK(callstack_from_state(TEXT(state.data), CALLSTACK_NONE, &read, &error));
    OK(callstack_state(read, &again, &error));
    CHECK_TEXT(again.data, state.data);
    callstack_text_free(&again);
    close_stack(read);
    callstack_text_free(&history);
    callstack_text_free(&state);
}

int main(int argc, char **argv) {
    Callstack *stack = in_memory();
    char copy[4096];
    CHECK(argc == 2);
    CHECK(callstack_abi() == CALLSTACK_ABI);
    CHECK(strchr(callstack_version(), '.') != NULL);
    a_wrong_variable_is_reported_and_the_others_count();
    a_request_is_folded();
    only_what_has_changed_is_told();
    limits_and_corrections();
    check_handles(stack, "[]");
    close_stack(stack);
    stack = NULL;
    close_stack(stack);
    OK(callstack_close(NULL, &error));

    CHECK(snprintf(copy, sizeof copy, "%s-copy", argv[1]) < (int)sizeof copy);
    a_folder_lasts(argv[1]);
    a_history_makes_the_stack_again(argv[1], copy);
    return 0;
}
