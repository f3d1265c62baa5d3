// Package cel filters rendered objects by expressions in CEL, the Common Expression Language. Each evaluation has a
// cost limit.
//
// A Filter is a generator.Transformer for generator.Chain. Its Version is the expression, so that a changed expression
// renders again. An expression that reads a missing field is an error, and not false.
package cel
