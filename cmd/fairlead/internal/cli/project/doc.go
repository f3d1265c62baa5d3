// Package project contains the commands for people who write an operator: scaffold and scaffold update. They need no
// cluster.
package project
