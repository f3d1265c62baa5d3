// Package templating renders Go templates within limits. It defines the template functions for all engines that render
// Go templates.
//
// Authors of templates are often not the administrators of the operator, and text/template has no limits: a loop
// without output can run forever, a few lines can double a string until the memory is exhausted, and a recursion of {{
// template }} overflows the stack, which ends the process. Therefore parsed templates are rewritten: each iteration of
// a loop and each result of a function is charged to a Budget, and {{ template }} becomes {{ include }}, whose depth is
// limited.
package templating
