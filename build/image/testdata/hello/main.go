// Command hello is a small program for tests that build an image.
package main

import "fmt"

func main() { fmt.Println("hello") }
