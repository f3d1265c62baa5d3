package settingtext_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/settingtext"
)

func TestParseExports(t *testing.T) {
	for text, want := range map[string]string{
		"host=self.status.host":                  "host: self.status.host",
		"a=self.a, b = self.b\nc=self.c,\n":      "a: self.a; b: self.b; c: self.c",
		"a=[self.a, self.b][0], b=self.c['x,y']": "a: [self.a, self.b][0]; b: self.c['x,y']",
		`a="it's, fine" + '"', b=r'\', c='\','`:  `a: "it's, fine" + '"'; b: r'\'; c: '\','`,
		"a='''it's,\nlong''', b=1":               "a: '''it's,\nlong'''; b: 1",
		"a=self.x == 1":                          "a: self.x == 1",
		"":                                       "error: it is empty",
		" , ":                                    "error: it is empty",
		"self.status":                            "error: not of the form NAME=EXPRESSION",
		"a-b=self.c":                             "error: not of the form NAME=EXPRESSION",
		"self=self.a":                            "error: reserved",
		"in=self.a":                              "error: has a meaning in CEL",
		"a=self.a, a=self.b":                     "error: the name a is used twice",
		"a=other.b":                              "error: undeclared reference to 'other'",
		"a='open":                                "error: is not closed",
		"a=" + strings.Repeat("1+", 2000):        "error: the limit is 2048",
		strings.Repeat("a", 64) + "=1":           "error: not of the form NAME=EXPRESSION",
		strings.Repeat("x=1,", settingtext.MaxExports+1): "error: more than 16",
	} {
		exports, err := settingtext.ParseExports(text)
		var parts []string
		for _, e := range exports {
			parts = append(parts, e.Name+": "+e.Expression)
		}
		got := strings.Join(parts, "; ")
		if expected, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), expected) {
				t.Errorf("%.60q: got %q and the error %v, want the error %q", text, got, err, expected)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%.60q: got %q and the error %v, want %q", text, got, err, want)
		}
	}
}

// A parsed list of exports must be parsed to the same list again, also if its elements are separated by lines.
func FuzzExports(f *testing.F) {
	for _, seed := range []string{
		"a=self.b, c=self.d[0]", "a='x,y'\nb=r'\\'", "a=[1,{'b':\"}\"}]", "a=b'''",
		",=,", "a=1//'",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		exports, err := settingtext.ParseExports(text)
		if err != nil {
			return
		}
		var lines []string
		for _, e := range exports {
			lines = append(lines, e.Name+"="+e.Expression)
		}
		again, err := settingtext.ParseExports(strings.Join(lines, "\n"))
		if err != nil || !reflect.DeepEqual(exports, again) {
			t.Errorf("%q: got %v, then %v and the error %v", text, exports, again, err)
		}
	})
}
