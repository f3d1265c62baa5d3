// Package inspection contains the commands that show what is known about components: list, status, tree, why, history,
// events, logs and export. They change nothing. Their work is in packages without cobra, and package show prints the
// results.
package inspection
