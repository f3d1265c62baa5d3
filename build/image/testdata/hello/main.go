// Command hello is something small to build an image of.
package main

import "fmt"

func main() { fmt.Println("hello") }
