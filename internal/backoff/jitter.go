package backoff

import (
	"math/rand/v2"
	"time"
)

// Around returns a random duration around d, from d-d*share to d+d*share.
func Around(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * (1 - share + 2*share*rand.Float64()))
}

// Sooner returns d without a random part of it, which is less than d*share.
func Sooner(d time.Duration, share float64) time.Duration {
	return d - Within(time.Duration(float64(d)*share)+1)
}

// Within returns a random duration from zero to d, without d. It is zero if d is zero or less.
func Within(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
