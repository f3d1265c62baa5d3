// Package terminal holds everything that depends on how text is displayed: whether a writer is a terminal, its size,
// colours, the width of text in columns, and a writer that records the first failed write.
//
// It imports no other package of Fairlead. It enforces that text from a cluster cannot control the terminal: Clean
// replaces control characters, and the only escape sequences written are those of Palette and of package progress.
package terminal
