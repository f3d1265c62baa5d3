// Package merge merges a file that a person changed with a newer version of the template that the file was rendered
// from.
//
// It is a three-way merge: Versions has the file as it was rendered last time, as it is now, and as it is rendered
// today. Texts are merged by git merge-file, go.mod by its statements. Changes that contradict each other become
// conflicts.
package merge
