package validate_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
)

// BenchmarkFaults measures the validation of 1,000 ConfigMaps with a schema.
func BenchmarkFaults(b *testing.B) {
	subjects := make([]validate.Subject, 1000)
	for i := range subjects {
		subjects[i] = subject(b, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n"+
			"metadata: {name: cm-%d, namespace: shop, labels: {team: blue}}\ndata: {value: a}", i))
		subjects[i].Types = builtin.Types()
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range subjects {
			if faults, dropped := validate.Check(s); len(faults)+len(dropped) > 0 {
				b.Fatal("a valid ConfigMap has faults")
			}
		}
	}
}
