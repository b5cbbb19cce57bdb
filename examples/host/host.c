/* A host: one agent, whose conversation goes through the frames of a stack. Its model is a script; put yours in place of `calls`.
 *
 *     cc host.c $(pkg-config --cflags --libs callstack) -o host && ./host */
#include <callstack.h>
#include <stdio.h>

static Callstack *stack = NULL;
static CallstackError *error = NULL;

/* What the library asks the host to do, as JSON. A host with several sessions creates, prompts and aborts them here. */
static void perform(CallstackText *effects) {
    fprintf(stderr, "%s\n", effects->data);
    callstack_text_free(effects);
}

static int report(const char *event) {
    CallstackText effects;
    if (callstack_report(stack, callstack_view(event), &effects, &error) != CALLSTACK_OK)
        return 0;
    perform(&effects);
    return 1;
}

static int work(void) {
    const char *calls[] = {
        "{\"name\": \"stack_frame_push\", \"arguments\": {\"title\": \"Count the orders\", \"successCriteria\": \"Known\","
        " \"successCriteriaCompacted\": \"Known\"}}",
        "{\"name\": \"stack_frame_pop\", \"arguments\": {\"status\": \"completed\", \"results\": \"There are 42 orders.\","
        " \"resultsCompacted\": \"42 orders\"}}",
    };
    CallstackView session = callstack_view("chat");
    CallstackContext context;
    CallstackText text;

    /* The agent works on all its frames in one conversation. */
    if (callstack_in_memory(CALLSTACK_NONE, &stack, &error) != CALLSTACK_OK
        || callstack_configure(stack, callstack_view("{\"calls\": {\"in\": \"conversation\"}}"), NULL, &error) != CALLSTACK_OK)
        return 0;
    /* A session begins, and a person writes: the session is a frame now. */
    if (!report("{\"kind\": \"sessionCreated\", \"sessionID\": \"chat\", \"title\": \"Write a report\"}")
        || !report("{\"kind\": \"message\", \"sessionID\": \"chat\", \"messageID\": \"m1\", \"role\": \"user\", \"text\": \"Write a report\"}"))
        return 0;
    for (size_t request = 0; request < sizeof calls / sizeof *calls; request++) {
        /* Before each request: the context. `stable` belongs into the system prompt, `changing` after the newest message. */
        if (callstack_session_context(stack, session, &context, &error) != CALLSTACK_OK)
            return 0;
        printf("request %zu: a context of %zu tokens\n", request + 1, context.tokens);
        callstack_context_free(&context);
        /* The answer has a text for the model, also if the call was refused. */
        if (callstack_tool(stack, session, callstack_view(calls[request]), &text, &error) != CALLSTACK_OK)
            return 0;
        perform(&text);
    }
    if (!report("{\"kind\": \"sessionIdle\", \"sessionID\": \"chat\"}")
        || callstack_outline(stack, CALLSTACK_NONE, &text, &error) != CALLSTACK_OK)
        return 0;
    puts(text.data);
    callstack_text_free(&text);
    return 1;
}

int main(void) {
    int is_done = work();
    if (!is_done)
        fprintf(stderr, "%s\n", callstack_error_message(error));
    callstack_error_free(&error);
    callstack_close(&stack, NULL);
    return is_done ? 0 : 1;
}
