package main

import (
	"slices"
	"testing"
)

func TestTimesOfPlansAreReadByTheNameOfTheBenchmark(t *testing.T) {
	for _, processors := range []string{"", "-2", "-16"} {
		times, err := planTimes([]byte("goos: linux\ncpu: Some CPU\n" +
			"BenchmarkForApplyOfAGraph/in_sync" + processors + "         \t      10\t   6110102 ns/op\n" +
			"BenchmarkForApplyOfAGraph/in_sync" + processors + "         \t      10\t  21000000 ns/op\n" +
			"BenchmarkForDeleteOfAGraph" + processors + "                \t      10\t  13009899 ns/op\n" +
			"PASS\nok  \tgithub.com/fairlead-io/fairlead/pkg/component/internal/plan\t2.217s\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, want := times["BenchmarkForApplyOfAGraph/in_sync"], []float64{6.110102, 21}
		if !slices.Equal(got, want) || len(times["BenchmarkForDeleteOfAGraph"]) != 1 || len(times) != 2 {
			t.Errorf("with the end %q of the names: got %v", processors, times)
		}
	}
}
