/* Test of threads: eight threads use one stack; then each thread opens the same folder itself. The main thread frees
 * contexts that other threads received. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 20 };

typedef struct {
    Callstack *stack;
    const char *folder;
    int number;
    CallstackContext last;
} Worker;

static void work(Callstack *stack, Worker *worker) {
    int round;
    char frame[200], id[32];
    for (round = 0; round < ROUNDS; round++) {
        CallstackContext context;
        snprintf(id, sizeof id, "%c%d_%d", worker->stack ? 's' : 'o', worker->number, round);
        snprintf(frame, sizeof frame, "{\"title\": \"Frame %s\", \"sessionID\": \"%s\", \"parent\": \"root\"}", id, id);
        push(stack, frame);
        OK(callstack_add_decision(stack, TEXT("root"), TEXT(id), &error));
        context = context_of(stack, id);
        CHECK(contains(context.xml, id));
        callstack_context_free(&worker->last);
        worker->last = context;
    }
}

static void *share(void *argument) {
    Worker *worker = (Worker *)argument;
    work(worker->stack, worker);
    return NULL;
}

static void *open_own(void *argument) {
    Worker *worker = (Worker *)argument;
    Callstack *stack = open_folder(worker->folder);
    work(stack, worker);
    close_stack(stack);
    return NULL;
}

static void run(void *(*body)(void *), Callstack *stack, const char *folder) {
    pthread_t threads[THREADS];
    Worker workers[THREADS];
    int i;
    for (i = 0; i < THREADS; i++) {
        Worker worker;
        memset(&worker, 0, sizeof worker);
        worker.stack = stack;
        worker.folder = folder;
        worker.number = i;
        workers[i] = worker;
        CHECK(pthread_create(&threads[i], NULL, body, &workers[i]) == 0);
    }
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(contains(workers[i].last.xml, "_19"));
        callstack_context_free(&workers[i].last);
    }
}

static int count(const char *text, const char *part) {
    int found = 0;
    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part))
        found++;
    return found;
}

int main(int argc, char **argv) {
    Callstack *stack;
    CallstackText children, root;
    CHECK(argc == 2);
    stack = open_folder(argv[1]);
    push(stack, "{\"title\": \"Root\", \"sessionID\": \"root\"}");
    run(share, stack, NULL);
    run(open_own, NULL, argv[1]);
    OK(callstack_refresh(stack, NULL, &error));
    OK(callstack_handles(stack, TEXT("{\"relation\": \"children\", \"frame\": \"root\"}"), &children, &error));
    CHECK(count(children.data, "\"f") == 2 * THREADS * ROUNDS);
    OK(callstack_frame(stack, TEXT("root"), &root, &error));
    CHECK(count(root.data, "_19\"") == 2 * THREADS);
    callstack_text_free(&children);
    callstack_text_free(&root);
    close_stack(stack);
    return 0;
}
