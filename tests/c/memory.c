/* Test of agent memory: chunks, registers, and a run that continues in a second stack opened on the same folder. */
#include "check.h"

/* Advances a run and checks that the result contains a text. */
static void advances(Callstack *stack, const char *run, const char *expected) {
    CallstackText next;
    OK(callstack_advance_run(stack, TEXT(run), &next, &error));
    if (strstr(next.data, expected) == NULL) {
        fprintf(stderr, "callstack_advance_run of %s returned %s without %s\n", run, next.data, expected);
        exit(1);
    }
    callstack_text_free(&next);
}

int main(int argc, char **argv) {
    Callstack *stack, *other;
    CallstackText text, run;
    CallstackContext context;
    CHECK(argc == 2);
    stack = open_folder(argv[1]);
    push(stack, "{\"title\": \"Shop\", \"sessionID\": \"ses_1\"}");
    OK(callstack_allocate_chunk(stack, TEXT("f1"), TEXT("{\"name\": \"prices\", \"content\": \"a < b && c\"}"), &error));
    OK(callstack_update_registers(stack, TEXT("f1"), TEXT("{\"R2_NEXT\": \"sell\"}"), &error));
    context = context_of(stack, "f1");
    CHECK(contains(context.stable, ">a &lt; b &amp;&amp; c</chunk>"));
    CHECK(contains(context.changing, "<R2_NEXT>sell</R2_NEXT>"));
    callstack_context_free(&context);
    FAILS(CALLSTACK_ERROR_UNKNOWN_CHUNK,
          callstack_write_chunk(stack, TEXT("f1"), TEXT("{\"name\": \"price\", \"content\": \"x\"}"), &error));
    OK(callstack_write_chunk(stack, TEXT("f1"), TEXT("{\"name\": \"prices\", \"content\": \"in cents\"}"), &error));
    OK(callstack_chunks(stack, TEXT("f1"), &text, &error));
    CHECK(strstr(text.data, "\"content\":\"in cents\"") != NULL);
    callstack_text_free(&text);
    OK(callstack_free_chunk(stack, TEXT("f1"), TEXT("prices"), &error));

    OK(callstack_tools(NULL, TEXT("{\"memory\": {\"memory\": \"registers\"}}"), &text, &error));
    CHECK(strstr(text.data, "\"name\":\"push_frame\"") != NULL);
    callstack_text_free(&text);
    OK(callstack_start_run(stack, TEXT("{\"task\": \"Say hello\"}"), &run, &error));
    CHECK_TEXT(run.data, "f2");
    advances(stack, run.data, "\"next\":\"ask\",\"step\":1");
    OK(callstack_run_reply(stack, TEXT(run.data),
                           TEXT("{\"calls\": [{\"id\": \"a\", \"name\": \"greet\", \"arguments\": \"{}\"}]}"), &error));
    other = open_folder(argv[1]);
    advances(other, run.data, "\"next\":\"call\",\"id\":\"a\",\"name\":\"greet\"");
    OK(callstack_run_answer(other, TEXT(run.data), TEXT("{\"call\": \"a\", \"answer\": \"greeted\"}"), &error));
    FAILS(CALLSTACK_ERROR_OUT_OF_TURN,
          callstack_run_answer(other, TEXT(run.data), TEXT("{\"call\": \"a\", \"answer\": \"again\"}"), &error));
    OK(callstack_refresh(stack, NULL, &error));
    advances(stack, run.data, "\"next\":\"ask\",\"step\":2");
    OK(callstack_runs(stack, &text, &error));
    CHECK_TEXT(text.data, "[\"f2\"]");
    callstack_text_free(&text);
    OK(callstack_run_status(stack, TEXT(run.data), &text, &error));
    CHECK(strstr(text.data, "\"steps\":1") != NULL);
    callstack_text_free(&text);
    callstack_text_free(&run);
    close_stack(stack);
    close_stack(other);
    return 0;
}
