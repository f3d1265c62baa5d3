package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the UID and GID with which the program runs. They own no files in the image. Images without a distribution
// conventionally use this number. The manifests that install the operator contain it, too.
const user = "65532:65532"

// certificates is the first file from which Go reads root certificates.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// entry is a file or a folder in a layer. The name of a folder ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// base returns the files that a static program needs. They contain no shell, no libraries and no other programs.
func base() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte(
			"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: certificates[1:], mode: 0o644, content: roots()},
		{name: "tmp/", mode: 0o1777},
	}
}

// roots returns the root certificates that Mozilla trusts without constraints. Certificates with a constraint, such as
// a date, are left out, because a file of certificates cannot contain constraints.
func roots() []byte {
	var content bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			content.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return content.Bytes()
}

// layerOf packs entries into a layer. All entries belong to the user root.
func layerOf(entries []entry, created time.Time) (v1.Layer, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, e := range entries {
		header := &tar.Header{
			Name:     e.name,
			Mode:     e.mode,
			Size:     int64(len(e.content)),
			ModTime:  created,
			Typeflag: tar.TypeReg,
			Format:   tar.FormatPAX,
		}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressedCaching,
	)
}
