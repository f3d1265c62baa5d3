package v1alpha1

import "testing"

func TestTheTextOfAnAskedExport(t *testing.T) {
	for _, c := range []struct {
		text   string
		export AskedExport
	}{
		{"dbHost", AskedExport{Name: "dbHost"}},
		{"dbHost?", AskedExport{Name: "dbHost", Lost: true}},
		{`dbHost="a=b?"`, AskedExport{Name: "dbHost", Value: `"a=b?"`}},
		{`ports=[1,2]`, AskedExport{Name: "ports", Value: `[1,2]`}},
	} {
		if got := c.export.String(); got != c.text {
			t.Errorf("formatted as %q, want %q", got, c.text)
		}
		if got, err := ParseAskedExport(c.text); err != nil || got != c.export {
			t.Errorf("%q is parsed as %+v, %v, want %+v", c.text, got, err, c.export)
		}
	}
}

func TestAnAskedExportThatCannotBeReadIsAnError(t *testing.T) {
	for _, text := range []string{"", "?", `="a"`, "a=", "a=b", "a?b", `a?="b"`} {
		if got, err := ParseAskedExport(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, got)
		}
	}
}
