/* Test of processes that share a folder after fork(). A child must not use the stack of its parent, but it may open a
 * stack of its own in the same folder. POSIX locks are not inherited, and the system drops those of a process when it
 * closes any descriptor of the file: neither may cost an acknowledged push. */
#define _POSIX_C_SOURCE 200112L /* fork, raise, waitpid */
#include "check.h"
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4, ROUNDS = 10 };

static void push_own(Callstack *stack, const char *name, int number) {
    char frame[200];
    snprintf(frame, sizeof frame, "{\"title\": \"Work\", \"sessionID\": \"%s_%d\", \"parent\": \"root\"}", name, number);
    push(stack, frame);
}

/* Reads every file of the database, which drops the POSIX locks of this process on them. */
static void read_files(const char *folder) {
    const char *names[] = {"stack.db", "stack.db-wal", "stack.db-shm"};
    int i;
    for (i = 0; i < 3; i++) {
        char path[4096];
        FILE *file;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        file = fopen(path, "rb");
        if (file != NULL) {
            CHECK(fgetc(file) != EOF || feof(file));
            fclose(file);
        }
    }
}

int main(int argc, char **argv) {
    Callstack *stack;
    CallstackText state;
    pid_t children[CHILDREN];
    int child, round, status;
    CHECK(argc == 2);
    stack = open_folder(argv[1]);
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    for (child = 0; child < CHILDREN; child++) {
        children[child] = fork();
        CHECK(children[child] >= 0);
        if (children[child] == 0) {
            char name[16];
            Callstack *own = open_folder(argv[1]);
            snprintf(name, sizeof name, "c%d", child);
            for (round = 0; round < ROUNDS; round++) {
                push_own(own, name, round);
                read_files(argv[1]);
            }
            /* Half of the children close their stack. All are killed, so nothing is done at their exit. */
            if (child % 2 == 0) {
                close_stack(own);
            }
            raise(SIGKILL);
        }
    }
    for (round = 0; round < ROUNDS; round++) {
        push_own(stack, "parent", round);
        read_files(argv[1]);
    }
    for (child = 0; child < CHILDREN; child++) {
        CHECK(waitpid(children[child], &status, 0) == children[child]);
        CHECK(WIFSIGNALED(status)); /* Not ended by a failed check. */
    }
    push_own(stack, "last", 0);
    close_stack(stack);

    stack = open_folder(argv[1]);
    OK(callstack_state(stack, &state, &error));
    for (round = 0; round < ROUNDS; round++) {
        char id[32];
        for (child = 0; child < CHILDREN; child++) {
            snprintf(id, sizeof id, "\"c%d_%d\"", child, round);
            CHECK(strstr(state.data, id) != NULL);
        }
        snprintf(id, sizeof id, "\"parent_%d\"", round);
        CHECK(strstr(state.data, id) != NULL);
    }
    CHECK(strstr(state.data, "\"last_0\"") != NULL);
    callstack_text_free(&state);
    close_stack(stack);
    return 0;
}
