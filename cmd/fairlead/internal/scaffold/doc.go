// Package scaffold writes operator projects, and brings those that it wrote up to date.
//
// A project is rendered from the files in template/, whose answers are Options. What people edit later is theirs: the project keeps what
// was rendered, so that Update can tell their changes from those of a newer template. Generated code and manifests are no part of that:
// the project's own Makefile makes them.
package scaffold
