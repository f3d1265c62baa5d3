package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestWhatQueriesUse(t *testing.T) {
	for name, test := range map[string]struct{ query, want string }{
		"a metric": {`["up"]`, `[{"selectors":[{"metric":"up"}]}]`},
		"conditions": {
			`["up{job=~\"a|b\",pod!=\"\"}"]`,
			`[{"selectors":[{"metric":"up","matchers":[{"label":"job","operator":"=~","value":"a|b"},{"label":"pod","operator":"!=","value":""}]}]}]`,
		},
		"groups": {
			`["sum by (job) (rate(a[5m])) / sum without (pod) (b)"]`,
			`[{"selectors":[{"metric":"a"},{"metric":"b"}],"grouping":["job","pod"]}]`,
		},
		"several": {`["a","b"]`, `[{"selectors":[{"metric":"a"}]},{"selectors":[{"metric":"b"}]}]`},
		"none":    {`[]`, `[]`},
		"an invalid query": {
			`["up["]`,
			`[{"error":"1:4: parse error: unexpected end of input in duration expression"}]`,
		},
		"a selector without a metric": {
			`["{job=\"a\"}"]`,
			`[{"selectors":[{"metric":"","matchers":[{"label":"job","operator":"=","value":"a"}]}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(strings.NewReader(test.query), &out); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(out.String()); got != test.want {
				t.Errorf("the usage of the query is %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWhatIsNoArrayOfQueriesIsRefused(t *testing.T) {
	for _, input := range []string{"", "up", `{"query":"up"}`} {
		if err := run(strings.NewReader(input), &bytes.Buffer{}); err == nil {
			t.Errorf("run accepted the invalid input %q", input)
		}
	}
}
