// Package values reads the values of a component from files and assignments. As in Helm, later values override earlier
// values, and maps are merged. It also reads the values of inputs (--input).
//
// Errors name the file and the line. They never contain an assignment, which may have a password.
package values
