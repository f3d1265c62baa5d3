package main

import (
	"math"
	"testing"
)

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"the median of an odd number of values", median([]float64{3, 1, 2}), 2},
		{"the median of an even number of values", median([]float64{4, 1, 2, 3}), 2.5},
		{"the 50th percentile is a value that was measured", percentile([]float64{4, 1, 2, 3}, 0.5), 2},
		{"the 99th percentile of a hundred values is the second largest", percentile(upTo(100), 0.99), 99},
		{"the 99th percentile of few values is the largest", percentile(upTo(10), 0.99), 10},
		{"the lowest percentile is the smallest value", percentile(upTo(10), 0), 1},
		{"the largest", largest([]float64{1, 3, 2}), 3},
	} {
		if c.got != c.want {
			t.Errorf("%s: want the value %v, got %v", c.name, c.want, c.got)
		}
	}
}

func TestNothingMeasuredIsNoNumber(t *testing.T) {
	for name, got := range map[string]float64{
		"median": median(nil), "percentile": percentile(nil, 0.5),
		"largest": largest(nil),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s of no values: got %v, want NaN", name, got)
		}
	}
}

func upTo(n int) []float64 {
	values := make([]float64, 0, n)
	for i := range n {
		values = append(values, float64(i+1))
	}
	return values
}
