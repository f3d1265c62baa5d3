// Package scaffold writes projects of operators, and updates them.
//
// A project is rendered from the files in template/ with Options. It records what was rendered, so that UpdateProject
// can merge later changes of the templates with changes of people. Generated code and manifests are not recorded: the
// Makefile of the project makes them.
//
// Package valuetypes derives the types of a chart's values, package rbac the rules, package merge merges files, and
// package staging replaces files together.
package scaffold
