// Package terminal determines whether a writer is a terminal, and its size. It also has colours, the width of text in
// columns, arguments for a shell, and a writer that keeps the error of the first failed write.
//
// Text from a cluster must not control the terminal. For this purpose, Clean replaces control characters, and only
// Palette and package progress write escape sequences.
package terminal
