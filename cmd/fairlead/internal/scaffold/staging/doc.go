// Package staging replaces files of a folder together: all of them, or none.
//
// A Stage is a folder on the file system of the target, where files are complete before they are renamed into their
// places. If a rename fails, the earlier ones are undone. If the process is killed, the next Stage beside the same
// target removes what is left, unless it holds files that were replaced.
package staging
