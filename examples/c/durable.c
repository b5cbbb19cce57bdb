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

#define TEXT(text) (text), strlen(text)

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
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    /* "full": acknowledged commits also survive a power loss. */
    must(callstack_open(TEXT(argv[1]), TEXT("{\"durability\": \"full\"}"), &stack, &error), &error);
    must(callstack_ensure(stack, TEXT("tasks"), TEXT("Tasks of the week"), NULL, 0, NULL, &error), &error);
    must(callstack_active(stack, &last, &error), &error);
    if (strcmp(last.data, "f1") != 0)
        must(callstack_pop(stack, last.data, last.len, CALLSTACK_STATUS_COMPLETED,
                           TEXT("Completed by the next start."), NULL, 0, NULL, &error), &error);
    must(callstack_push(stack, TEXT("{\"title\": \"The next task\", \"parent\": \"tasks\"}"), NULL, &error), &error);
    must(callstack_outline(stack, NULL, 0, &outline, &error), &error);
    fputs(outline.data, stdout);
    callstack_text_free(&last);
    callstack_text_free(&outline);
    /* The last call with this stack. Its error says what could not be written to the disk. */
    must(callstack_close(&stack, &error), &error);
    return 0;
}
