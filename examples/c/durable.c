/*
 * A stack on disk: each start of the program completes the task of the previous start, adds a task, and prints the
 * tree.
 *
 *     cc durable.c $(pkg-config --cflags --libs callstack) -o durable && ./durable /tmp/tasks && ./durable /tmp/tasks
 */
#include <callstack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the message of the library if a call has failed. */
static void must(CallstackCode code, CallstackError **error) {
    if (code == CALLSTACK_OK)
        return;
    fprintf(stderr, "error %d (%s): %s\n", (int)code, callstack_error_name(*error), callstack_error_message(*error));
    callstack_error_free(error);
    exit(1);
}

int main(int argc, char **argv) {
    Callstack *stack = NULL;
    CallstackError *error = NULL;
    CallstackText last = {NULL, 0}, outline = {NULL, 0};
    const char *done = "{\"status\": \"completed\", \"results\": \"Completed by the next start.\"}";
    const char *task = "{\"title\": \"The next task\", \"parent\": \"tasks\"}";
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    /* "full": acknowledged commits also survive a power loss. */
    must(callstack_open(callstack_view(argv[1]), callstack_view("{\"durability\": \"full\"}"), &stack, &error), &error);
    must(callstack_ensure(stack, callstack_view("tasks"), callstack_view("{\"title\": \"Tasks of the week\"}"), NULL, &error),
         &error);
    must(callstack_active(stack, &last, &error), &error);
    if (strcmp(last.data, "f1") != 0)
        must(callstack_pop(stack, callstack_view(last.data), callstack_view(done), NULL, &error), &error);
    must(callstack_push(stack, callstack_view(task), NULL, &error), &error);
    must(callstack_outline(stack, CALLSTACK_NONE, &outline, &error), &error);
    fputs(outline.data, stdout);
    callstack_text_free(&last);
    callstack_text_free(&outline);
    /* The last call with this stack. Its error says what could not be written to the disk. */
    must(callstack_close(&stack, &error), &error);
    return 0;
}
