package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

const (
	// programVariable makes the test binary behave like the program, with a small stack.
	programVariable = "FAIRLEAD_TEST_PROGRAM"
	programStack    = 64 << 20
	programMemory   = 768 << 20
)

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		debug.SetMaxStack(programStack)
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// render runs fairlead render for the files of a folder. It returns the exit code, all output, and the peak of the
// resident memory in bytes.
func render(t *testing.T, files map[string]string, flags ...string) (int, string, int64) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := exec.CommandContext(t.Context(), os.Args[0], append([]string{"render", folder}, flags...)...)
	program.Env = append(os.Environ(), programVariable+"=1", fmt.Sprintf("GOMEMLIMIT=%d", programMemory/2))
	var output bytes.Buffer
	program.Stdout, program.Stderr = &output, &output
	err := program.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok && failed.ExitCode() < 0 {
		t.Fatalf("%v\n%.3000s", err, &output)
	}
	usage, _ := program.ProcessState.SysUsage().(*syscall.Rusage)
	return program.ProcessState.ExitCode(), output.String(), usage.Maxrss << 10
}

// doubling returns a schema whose definitions refer to the next definition twice.
func doubling(levels int) string {
	var text strings.Builder
	text.WriteString(`{"$ref": "#/definitions/d0", "definitions": {`)
	for i := range levels {
		fmt.Fprintf(&text, `"d%d": {"anyOf": [{"$ref": "#/definitions/d%d"}, {"$ref": "#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&text, `"d%d": {"type": "string"}}}`, levels)
	return text.String()
}

// Each of these sources ended the program by a stack overflow, or took gigabytes. Go cannot recover from either.
func TestRenderEndsWithAMessage(t *testing.T) {
	const (
		manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
		nodes    = "maps, lists, values and keys"
		nested   = "nest more than 1000 deep"
	)
	chart := func(template string) map[string]string {
		return map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "templates/a.yaml": template}
	}
	with := func(files map[string]string, name, text string) map[string]string {
		files[name] = text
		return files
	}
	templates := func(text string) map[string]string { return map[string]string{"a.yaml": text} }
	kustomization := func(text string) map[string]string {
		return map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": manifest + text}
	}
	const engine = "--generator=GoTemplate"
	cases := map[string]struct {
		files map[string]string
		flags []string
		want  string
	}{
		"values that contain themselves, in a chart": {
			chart(`{{ $_ := set .Values "a" .Values }}{{ add1 .Values }}`), nil, nested,
		},
		"values that contain themselves, in a template": {
			templates(`{{ $_ := set .Values "a" .Values }}{{ add1 .Values }}`),
			[]string{engine},
			"the value contains the map itself",
		},
		"a value that doubles": {
			chart(`{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ add1 $x }}`), nil,
			"the templates write more than",
		},
		"nested actions in tpl": {
			chart("{{ tpl (repeat 1000000 `{{ if 1 }}`) . }}"), nil,
			"actions nest more than 1000 deep",
		},
		"nested actions": {
			templates(strings.Repeat(`{{ if 1 }}`, 500_000)),
			[]string{engine},
			"actions nest more than 1000 deep",
		},
		"many actions":          {templates(strings.Repeat(`{{1}}`, 1_000_000)), []string{engine}, "more than 400000 words"},
		"many nodes in a chart": {chart(`x: [{{ repeat 5000000 "{}," }}]`), nil, nodes},
		"many nodes in a template": {
			templates(`x: [{{ repeat 5000000 "{}," }}]`), []string{engine}, nodes,
		},
		"many nodes in a manifest": {kustomization("x: [" + strings.Repeat("{},", 1_600_000) + "]"), nil, nodes},
		"as many nodes as a document of a chart may have": {
			chart(manifest + "x: [{{ repeat 190000 \"{},\" }}]"), nil, "",
		},
		"as many nodes as a kustomization may have": {
			kustomization("x: [" + strings.Repeat("{},", 190_000) + "]"), nil, "",
		},
		"many nodes in default values": {
			with(chart(manifest), "values.yaml", "x: ["+strings.Repeat("{},", 1_600_000)+"]"),
			nil, nodes,
		},
		"a schema whose branches double": {with(chart(manifest), "values.schema.json", doubling(31)), nil, "evaluations"},
		"a schema that is deep": {
			with(chart(manifest), "values.schema.json", strings.Repeat(`{"not":`, 700_000)),
			nil, "nest more than 200 deep",
		},
		"default values that are deep": {
			with(chart(manifest), "values.yaml", "x: "+strings.Repeat("{a: ", 1_000_000)),
			nil, "",
		},
		"a deep JSON text in a template": {chart(`{{ fromJson (repeat 1000000 "[") }}`), nil, nested},
		"a deep TOML text in a template": {chart(`{{ fromToml (print "a=" (repeat 1000000 "[")) }}`), nil, nested},
		"a deep list that is printed": {chart(
			`{{ $x := list }}{{ range until 200000 }}{{ $x = list $x }}{{ end }}{{ $x }}`), nil, nested},
		"a deep list that is compared": {chart(
			`{{ $x := list }}{{ range until 200000 }}{{ $x = list $x }}{{ end }}{{ deepEqual $x $x }}`), nil, nested},
		"deep manifests":                  {chart(`x: {{ repeat 9000 "[" }}{{ repeat 9000 "]" }}`), nil, nested},
		"many documents without manifest": {chart(`{{ repeat 1000000 "---\na\n" }}`), nil, "there may be more mistakes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			code, output, memory := render(t, c.files, c.flags...)
			fails := c.want != "" || strings.HasPrefix(name, "default")
			if fails && (code < 1 || code > 3) || !fails && code != 0 {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(output, c.want) || strings.Contains(output, "goroutine ") || len(output) == 0 {
				t.Errorf("want %q, got %.1000s", c.want, output)
			}
			if memory > programMemory {
				t.Errorf("the program took %d MiB", memory>>20)
			}
			t.Logf("%d MiB", memory>>20)
		})
	}
}
