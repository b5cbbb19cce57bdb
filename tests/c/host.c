/* Test of a host with sessions: events, effects, and a tool call that runs a frame and returns its results. */
#include "check.h"

/* Reports an event and returns the effects as JSON. The caller frees them. */
static CallstackText tell(Callstack *stack, const char *event) {
    CallstackText effects;
    OK(callstack_report(stack, TEXT(event), &effects, &error));
    CHECK(effects.data[0] == '[');
    return effects;
}

static void told(Callstack *stack, const char *event, const char *effect) {
    CallstackText effects = tell(stack, event);
    CHECK(strstr(effects.data, effect) != NULL);
    callstack_text_free(&effects);
}

static CallstackText use(Callstack *stack, const char *session, const char *tool, const char *arguments) {
    CallstackText answer;
    char call[400];
    CHECK(snprintf(call, sizeof call, "{\"name\": \"%s\", \"arguments\": %s}", tool, arguments) < (int)sizeof call);
    OK(callstack_tool(stack, TEXT(session), TEXT(call), &answer, &error));
    return answer;
}

int main(int argc, char **argv) {
    Callstack *stack;
    CallstackText text;
    CallstackContext context;
    uint64_t deadline = 0;
    CHECK(argc == 2);
    stack = open_folder(argv[1]);
    OK(callstack_configure(stack, CALLSTACK_NONE, &text, &error));
    CHECK_TEXT(text.data, "[]");
    callstack_text_free(&text);
    OK(callstack_tools(NULL, CALLSTACK_NONE, &text, &error));
    CHECK(strstr(text.data, "\"name\":\"stack_frame_push\"") != NULL);
    callstack_text_free(&text);

    told(stack, "{\"kind\": \"sessionCreated\", \"sessionID\": \"ses_1\", \"title\": \"Shop\"}", "[]");
    told(stack, "{\"kind\": \"message\", \"sessionID\": \"ses_1\", \"messageID\": \"m1\", \"role\": \"user\", \"text\": \"Build\"}",
         "Frame created");
    OK(callstack_deadline(stack, &deadline, &error));
    CHECK(deadline > 0);
    OK(callstack_session_context(stack, TEXT("ses_1"), &context, &error));
    CHECK(begins_with(context.stable, "<stack-context") && begins_with(context.changing, "<stack-now"));
    callstack_context_free(&context);
    OK(callstack_session_context(stack, TEXT("nobody"), &context, &error));
    CHECK(context.owner == NULL && context.stable.data == NULL && context.changing.data == NULL);
    OK(callstack_place(stack, TEXT("ses_1"), &text, &error));
    CHECK_TEXT(text.data, "f1");
    callstack_text_free(&text);

    text = use(stack, "ses_1", "stack_frame_push",
               "{\"title\": \"Cart\", \"successCriteria\": \"Totals\", \"successCriteriaCompacted\": \"totals\"}");
    CHECK(strstr(text.data, "\"call\":1") != NULL && strstr(text.data, "\"kind\":\"createSession\"") != NULL);
    callstack_text_free(&text);
    told(stack, "{\"kind\": \"callStarted\", \"call\": 1, \"sessionID\": \"ses_2\"}", "\"kind\":\"prompt\"");
    text = use(stack, "ses_2", "stack_frame_pop",
               "{\"status\": \"completed\", \"results\": \"It adds up\", \"resultsCompacted\": \"adds up\"}");
    CHECK(strstr(text.data, "\"isError\":false") != NULL);
    callstack_text_free(&text);
    told(stack, "{\"kind\": \"callEnded\", \"call\": 1}", "Results: It adds up");
    OK(callstack_poll(stack, &text, &error));
    CHECK(text.data[0] == '[');
    callstack_text_free(&text);

    text = use(stack, "ses_1", "stack_frame_push", "{\"title\": 5}");
    CHECK(strstr(text.data, "\"isError\":true") != NULL && strstr(text.data, "Example:") != NULL);
    callstack_text_free(&text);
    FAILS(CALLSTACK_ERROR_JSON, callstack_report(stack, TEXT("{\"kind\": \"nonsense\"}"), &text, &error));
    CHECK(text.data == NULL);
    close_stack(stack);
    return 0;
}
