// Package merge merges a rendered file that a person changed with the file that a newer template renders.
//
// It is a three-way merge of Versions: the file of the last rendering, the file in the project, and the file of the
// current rendering. Texts are merged by git merge-file, and go.mod by its statements. Different changes of the same
// lines are conflicts.
package merge
