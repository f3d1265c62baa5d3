// Package scaffold writes and updates projects for operators.
//
// A project is rendered from the files in template/ with Options. It contains a record of the rendered files, so that
// UpdateProject can merge later changes of the templates with changes by people. Code and manifests that the Makefile
// of the project generates are not copied.
//
// Package valuetypes derives the types of a chart's values, package rbac the rules, package merge merges files, and
// package staging replaces files together.
package scaffold
