// Package staging replaces several files of a folder together. If a replacement fails, it undoes the others.
//
// A Stage is a temporary folder on the file system of the target. Files are written to the Stage, and then renamed to
// their paths in the target. If a rename fails, the earlier renames are undone. If the process is killed, the next
// Stage for the same target removes the old Stage, unless it contains files that were replaced.
package staging
