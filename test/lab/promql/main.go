// Command promql parses PromQL queries, and prints the metrics and labels that they use. It is a separate module, so
// that the main module does not depend on Prometheus.
//
//	echo '["sum by (state) (fairlead_components{state=\"Ready\"})"]' | promql
//
// The command reads an array of queries, and prints an array with a Usage for each of them, both as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Usage contains the metrics and labels of a query.
type Usage struct {
	// Error is the reason if the query is invalid. Then the other fields are empty.
	Error string `json:"error,omitempty"`
	// Selectors are the selectors of series, in the order of the query.
	Selectors []Selector `json:"selectors,omitempty"`
	// Grouping are the labels in the clauses by and without of aggregations.
	Grouping []string `json:"grouping,omitempty"`
}

// Selector is a selector of series.
type Selector struct {
	Metric   string    `json:"metric"`
	Matchers []Matcher `json:"matchers,omitempty"`
}

// Matcher is a condition on the value of a label.
type Matcher struct {
	Label string `json:"label"`
	// Operator is =, !=, =~ or !~; regular expressions are anchored at both ends.
	Operator string `json:"operator"`
	Value    string `json:"value"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var queries []string
	if err := json.NewDecoder(in).Decode(&queries); err != nil {
		return fmt.Errorf("read an array of queries from standard input: %w", err)
	}
	usages := make([]Usage, 0, len(queries))
	for _, query := range queries {
		usages = append(usages, usageOf(query))
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(usages)
}

func usageOf(query string) Usage {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return Usage{Error: err.Error()}
	}
	var u Usage
	for _, matchers := range parser.ExtractSelectors(expression) {
		u.Selectors = append(u.Selectors, selectorOf(matchers))
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if aggregate, ok := node.(*parser.AggregateExpr); ok {
			u.Grouping = append(u.Grouping, aggregate.Grouping...)
		}
		return nil
	})
	return u
}

func selectorOf(matchers []*labels.Matcher) Selector {
	var s Selector
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			s.Metric = m.Value
			continue
		}
		s.Matchers = append(s.Matchers, Matcher{Label: m.Name, Operator: m.Type.String(), Value: m.Value})
	}
	return s
}
