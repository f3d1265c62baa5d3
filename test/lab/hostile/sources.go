package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// packed returns an archive. The entries with a size are zeros.
func packed(add func(write func(header tar.Header, content []byte))) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	add(func(header tar.Header, content []byte) {
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		header.Mode, header.Size = 0o600, int64(len(content))
		// A buffer does not fail; an invalid name is left out.
		if archive.WriteHeader(&header) == nil {
			_, _ = archive.Write(content)
		}
	})
	_ = archive.Close()
	_ = zip.Close()
	return out.Bytes()
}

// largeFiles is an archive of files that are together larger than the limit.
var largeFiles = sync.OnceValue(func() []byte {
	zeros := make([]byte, 10<<20)
	return packed(func(write func(tar.Header, []byte)) {
		for i := range 12 {
			write(tar.Header{Name: fmt.Sprintf("a/%d", i)}, zeros)
		}
	})
})

// archiveBomb returns an archive that is small, and large or deep when it is unpacked.
func (a *attack) archiveBomb() []byte {
	const chart = "{apiVersion: v2, name: a, version: 1.0.0}"
	switch a.IntN(7) {
	case 0:
		return bombs[0].content()
	case 1:
		return largeFiles()
	case 2:
		count := min(a.power(5), 30_000)
		return packed(func(write func(tar.Header, []byte)) {
			for i := range count {
				write(tar.Header{Name: fmt.Sprintf("a/b/c/%d/d", i)}, nil)
			}
		})
	case 3:
		inner := packed(func(write func(tar.Header, []byte)) { write(tar.Header{Name: "a/Chart.yaml"}, []byte(chart)) })
		for range 2 + a.IntN(12) {
			content := inner
			inner = packed(func(write func(tar.Header, []byte)) {
				write(tar.Header{Name: "a/Chart.yaml"}, []byte(chart))
				for i := range 2 {
					write(tar.Header{Name: fmt.Sprintf("a/charts/c%d.tgz", i)}, content)
				}
			})
			if len(inner) > 500<<10 {
				return content
			}
		}
		return inner
	case 4:
		return packed(func(write func(tar.Header, []byte)) {
			write(tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, nil)
			write(tar.Header{Name: "a/passwd"}, []byte("x"))
			write(tar.Header{Name: "../../b"}, []byte("x"))
		})
	case 5:
		return packed(func(write func(tar.Header, []byte)) {
			write(tar.Header{Name: strings.Repeat("a/", 50_000) + "b"}, []byte("x"))
		})
	default:
		bomb := a.yamlBomb()
		return packed(func(write func(tar.Header, []byte)) {
			write(tar.Header{Name: "a/Chart.yaml"}, []byte(chart))
			write(tar.Header{Name: "a/templates/a.yaml"}, []byte(bomb))
		})
	}
}

// sourceKinds are sources, archives and functions.
func sourceKinds() []kind {
	return []kind{
		{"archive", func(a *attack) {
			content := a.archiveBomb()
			if len(content) > 700<<10 {
				content = content[:700<<10]
			}
			a.archive(content)
			if a.IntN(4) == 0 {
				a.spec.Path = a.one("..", "a/../..", strings.Repeat("a/", 500), "/", "a", ".")
			}
		}},
		{"archive over HTTP", func(a *attack) {
			sum := sha256.Sum256([]byte(fmt.Sprint(a.seed)))
			a.spec.Source = v1alpha1.Source{HTTP: &v1alpha1.HTTPSource{
				URL: a.scene.servers + "/" + a.one("zeros", "slow", "silent", "headers", "redirect", "text", "zipped"), SHA256: hex.EncodeToString(sum[:]),
			}}
		}},
		{"function", func(a *attack) {
			a.spec.Generator = "Function"
			a.spec.Function = &v1alpha1.FunctionGenerator{
				URL: a.scene.servers + "/" + a.one("items", "text", "deep", "yaml", "slow", "silent", "headers", "redirect", "zipped", "statuses"),
			}
		}},
		{"files", func(a *attack) {
			files := map[string]string{}
			for i := range min(a.power(5), 20_000) {
				files[fmt.Sprintf("%s%d.yaml", a.one("", "a/", "b/c/"), i)] = a.one("", "x", "{{ template `a` }}", "a: b")
			}
			a.spec.Source = inline(files)
		}},
		{"paths", func(a *attack) {
			a.spec.Source = inline(map[string]string{
				a.one("../a", "/a", "a//b", strings.Repeat("a/", 5000)+"b", "a\x00b", ".", "Chart.yaml/b", "a\\b", strings.Repeat("a", 200_000)): "x",
				"Chart.yaml": "a: b",
			})
		}},
	}
}
