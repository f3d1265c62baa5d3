// Package templating renders Go templates within bounds, with one table of functions for all engines that take
// templates.
//
// Who writes templates is often not who runs the operator, and text/template bounds nothing: a loop without output
// runs for ever, a few lines double a string until the memory is full, and a recursion of {{ template }} exhausts the
// stack, which ends the process. So templates are rewritten after they are parsed: each turn of a loop and each
// result of a function goes by the Budget, and {{ template }} becomes {{ include }}.
package templating
