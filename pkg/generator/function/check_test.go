package function_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
	"github.com/fairlead-io/fairlead/pkg/generator/generatortest"
)

func TestAReconcilerCanRelyOnIt(t *testing.T) {
	url := handled(t, greeting, function.HandlerOptions{})
	g, err := function.New(
		function.Service{URL: url, Items: []generator.Reference{zones}},
		function.Options{MaxCalls: 100},
	)
	if err != nil {
		t.Fatal(err)
	}
	first, second := request(), request()
	first.Parameters, second.Parameters = map[string]any{"text": "Hello"}, map[string]any{"text": "Ahoy"}
	generatortest.Check(t, g, generatortest.Options{}, first, second)
}
