/* Pushes and pops frames and prints a context: cc quickstart.c $(pkg-config --cflags --libs callstack) */
#include <callstack.h>
#include <stdio.h>

int main(void) {
    Callstack *stack = NULL;
    CallstackError *error = NULL;
    CallstackText root = {NULL, 0};
    CallstackContext context = {0};
    CallstackView shop = callstack_view("{\"title\": \"Build a shop\", \"sessionID\": \"ses_1\"}");
    CallstackView cart = callstack_view("{\"title\": \"Shopping cart\", \"sessionID\": \"ses_2\", \"parent\": \"ses_1\"}");
    CallstackView done = callstack_view("{\"status\": \"completed\", \"results\": \"Cart with totals in src/cart.rs\","
                                        " \"resultsCompacted\": \"src/cart.rs: Cart::total()\"}");
    CallstackView pay = callstack_view("{\"title\": \"Pay for the cart\", \"sessionID\": \"ses_3\", \"parent\": \"ses_1\"}");

    /* For a stack on disk: callstack_open(callstack_view("some/folder"), CALLSTACK_NONE, &stack, &error) */
    int ok = callstack_in_memory(CALLSTACK_NONE, &stack, &error) == CALLSTACK_OK
        && callstack_push(stack, shop, &root, &error) == CALLSTACK_OK
        && callstack_push(stack, cart, NULL, &error) == CALLSTACK_OK
        && callstack_pop(stack, callstack_view("ses_2"), done, NULL, &error) == CALLSTACK_OK
        && callstack_push(stack, pay, NULL, &error) == CALLSTACK_OK
        && callstack_context(stack, callstack_view("ses_3"), CALLSTACK_NONE, &context, &error) == CALLSTACK_OK;

    if (ok) {
        printf("The shop is frame %s. The context of its newest task:\n", root.data);
        fwrite(context.xml.data, 1, context.xml.len, stdout);
    } else
        fprintf(stderr, "%s\n", callstack_error_message(error));
    callstack_text_free(&root);
    callstack_context_free(&context);
    callstack_error_free(&error);
    callstack_close(&stack, NULL);
    return ok ? 0 : 1;
}
