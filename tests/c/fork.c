/* Test of processes that share a folder after fork(). A child must not use the stack of its parent, but it may open a
 * stack of its own in the same folder. POSIX locks are not inherited, and the system drops those of a process when it
 * closes any descriptor of the file: neither may cost an acknowledged push. Locks of open files are inherited, and a child that does
 * nothing must not hold them. */
#define _POSIX_C_SOURCE 200112L /* fork, raise, waitpid */
#include "check.h"
#include <pthread.h>
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

/* Works with a stack while children of this process work with stacks of their own, and is killed. */
static void work(const char *folder) {
    Callstack *stack = open_folder(folder);
    pid_t children[CHILDREN];
    int child, round, status;
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    for (child = 0; child < CHILDREN; child++) {
        children[child] = fork();
        CHECK(children[child] >= 0);
        if (children[child] == 0) {
            char name[16];
            Callstack *own = open_folder(folder);
            snprintf(name, sizeof name, "c%d", child);
            for (round = 0; round < ROUNDS; round++) {
                push_own(own, name, round);
                read_files(folder);
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
        read_files(folder);
    }
    for (child = 0; child < CHILDREN; child++) {
        CHECK(waitpid(children[child], &status, 0) == children[child]);
        CHECK(WIFSIGNALED(status)); /* Not ended by a failed check. */
    }
    push_own(stack, "last", 0);
    raise(SIGKILL);
}

static void check_ids(const char *folder, const char *const *ids, int count) {
    Callstack *stack = open_folder(folder);
    CallstackText state;
    int i;
    OK(callstack_state(stack, &state, &error));
    for (i = 0; i < count; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%s\"", ids[i]);
        if (strstr(state.data, quoted) == NULL) {
            fprintf(stderr, "%s was acknowledged and is lost\n", ids[i]);
            exit(1);
        }
    }
    callstack_text_free(&state);
    close_stack(stack);
}

static void send(int pipe_end) {
    CHECK(write(pipe_end, "x", 1) == 1);
}

static void await(int pipe_end) {
    char byte;
    CHECK(read(pipe_end, &byte, 1) == 1);
}

/* A child inherits what SQLite remembers of the locks of its parent, but not the locks. When the parent closes its
 * stack, and another process comes and goes, the child is alone with its stack. */
static void a_child_whose_parent_closes_loses_nothing(const char *folder) {
    static const char *const ids[] = {"root", "child_0", "child_1", "child_2"};
    int visit[2], visited[2], opened[2], alone[2], status;
    pid_t visitor, child;
    Callstack *stack;
    CHECK(pipe(visit) == 0 && pipe(visited) == 0 && pipe(opened) == 0 && pipe(alone) == 0);
    visitor = fork(); /* Before anything is open, so that it inherits nothing. */
    CHECK(visitor >= 0);
    if (visitor == 0) {
        await(visit[0]);
        close_stack(open_folder(folder));
        send(visited[1]);
        raise(SIGKILL);
    }
    stack = open_folder(folder);
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        Callstack *own = open_folder(folder);
        push_own(own, "child", 0);
        send(opened[1]);
        await(alone[0]);
        push_own(own, "child", 1);
        push_own(own, "child", 2);
        raise(SIGKILL);
    }
    await(opened[0]);
    close_stack(stack);
    send(visit[1]);
    await(visited[0]);
    send(alone[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(waitpid(visitor, &status, 0) == visitor && WIFSIGNALED(status));
    check_ids(folder, ids, 4);
}

/* All processes push and drop their locks at the same time; those that do not close are killed. */
static void children_that_work_beside_their_parent_lose_nothing(const char *folder) {
    static char names[CHILDREN * ROUNDS + ROUNDS + 1][16];
    const char *ids[CHILDREN * ROUNDS + ROUNDS + 1];
    int child, round, status, count = 0;
    pid_t worker = fork();
    CHECK(worker >= 0);
    if (worker == 0) {
        work(folder);
    }
    CHECK(waitpid(worker, &status, 0) == worker && WIFSIGNALED(status));
    for (round = 0; round < ROUNDS; round++) {
        for (child = 0; child < CHILDREN; child++) {
            snprintf(names[count++], sizeof names[0], "c%d_%d", child, round);
        }
        snprintf(names[count++], sizeof names[0], "parent_%d", round);
    }
    snprintf(names[count++], sizeof names[0], "last_0");
    for (round = 0; round < count; round++) {
        ids[round] = names[round];
    }
    check_ids(folder, ids, count);
}

static volatile int is_over;

static void *append(void *folder) {
    Callstack *stack = open_folder((const char *)folder);
    while (!is_over) {
        OK(callstack_append_log(stack, TEXT("root"), TEXT("[{\"text\": \"from a thread\"}]"), &error));
    }
    close_stack(stack);
    return NULL;
}

/* Children that are forked while a thread appends to a log have the open file of the log, and do nothing with it. As long as they live,
 * neither this process nor another one may find the log in use. */
static void a_fork_beside_an_append_blocks_no_process(const char *folder) {
    enum { FORKS = 200 };
    pid_t children[FORKS], visitor;
    int begin[2], end[2], i, status;
    Callstack *stack;
    pthread_t thread;
    CHECK(pipe(begin) == 0 && pipe(end) == 0);
    visitor = fork(); /* Before anything is open, so that it inherits nothing. */
    CHECK(visitor >= 0);
    if (visitor == 0) {
        await(begin[0]);
        stack = open_folder(folder);
        OK(callstack_append_log(stack, TEXT("root"), TEXT("[{\"text\": \"from a visitor\"}]"), &error));
        close_stack(stack);
        exit(0);
    }
    stack = open_folder(folder);
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    CHECK(pthread_create(&thread, NULL, append, (void *)folder) == 0);
    for (i = 0; i < FORKS; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            await(end[0]);
            raise(SIGKILL);
        }
    }
    is_over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    OK(callstack_append_log(stack, TEXT("root"), TEXT("[{\"text\": \"from the parent\"}]"), &error));
    send(begin[1]);
    CHECK(waitpid(visitor, &status, 0) == visitor && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (i = 0; i < FORKS; i++) {
        send(end[1]);
    }
    for (i = 0; i < FORKS; i++) {
        CHECK(waitpid(children[i], &status, 0) == children[i]);
    }
    close_stack(stack);
}

int main(int argc, char **argv) {
    char folder[4096];
    CHECK(argc == 2);
    snprintf(folder, sizeof folder, "%s.appended", argv[1]);
    a_fork_beside_an_append_blocks_no_process(folder);
    a_child_whose_parent_closes_loses_nothing(argv[1]);
    snprintf(folder, sizeof folder, "%s.shared", argv[1]);
    children_that_work_beside_their_parent_lose_nothing(folder);
    return 0;
}
