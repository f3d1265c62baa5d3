//go:build long

package main

import "time"

// duration is the duration of the attacks.
const duration = 30 * time.Minute
