// Package packed keeps manifests in little memory.
package packed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sync"
	"weak"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
)

// blockSize is how many bytes of JSON are compressed together. Manifests of a set have much in common, which a compressor only finds where it
// sees several of them; to get at one, all of its block is decompressed.
const blockSize = 32 << 10

// Manifest is a manifest as compressed JSON: a fraction of what it takes as a tree. It is read-only, and safe for concurrent use. The zero value
// holds none.
type Manifest struct {
	block      *block
	start, end int
}

// block holds manifests that are compressed together.
type block struct {
	compressed []byte

	mu sync.Mutex
	// plain is the JSON, for as long as the garbage collector leaves it: who wants one manifest mostly wants its neighbours next.
	plain weak.Pointer[[]byte]
}

// Encoders and decoders hold tables of a MiB and more, which the garbage collector takes while nothing is packed. Only options that contradict
// themselves are errors.
var (
	encoders = sync.Pool{New: func() any {
		encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
		return encoder
	}}
	decoders = sync.Pool{New: func() any {
		decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		return decoder
	}}
)

// compress appends a text to a buffer, compressed.
func compress(text, buffer []byte) []byte {
	encoder, _ := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	return encoder.EncodeAll(text, buffer)
}

// decompress is the reverse of compress.
func decompress(compressed []byte) ([]byte, error) {
	decoder, _ := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(decoder)
	return decoder.DecodeAll(compressed, nil)
}

// Pack compresses manifests, in the given order. An error names the one that cannot be written as JSON.
func Pack(bodies []*unstructured.Unstructured) ([]Manifest, error) {
	packed := make([]Manifest, 0, len(bodies))
	current, text, scratch := &block{}, bytes.Buffer{}, []byte(nil)
	end := func() {
		scratch = compress(text.Bytes(), scratch[:0])
		current.compressed = bytes.Clone(scratch)
	}
	for i, body := range bodies {
		if body == nil {
			return nil, fmt.Errorf("manifest %d is nil", i+1)
		}
		if text.Len() >= blockSize {
			end()
			current = &block{}
			text.Reset()
		}
		start := text.Len()
		if err := json.NewEncoder(&text).Encode(body.Object); err != nil {
			return nil, fmt.Errorf("%s %s: the manifest cannot be written as JSON: %w", body.GetKind(), path.Join(body.GetNamespace(), body.GetName()), err)
		}
		packed = append(packed, Manifest{block: current, start: start, end: text.Len()})
	}
	end()
	return packed, nil
}

// Unpack returns the manifest, which is the caller's own.
func (m Manifest) Unpack() (*unstructured.Unstructured, error) {
	if m.block == nil {
		return nil, errors.New("there is no manifest to unpack")
	}
	text, err := m.block.open()
	if err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	body := &unstructured.Unstructured{}
	if err := jsonutil.Unmarshal(text[m.start:m.end], &body.Object); err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	return body, nil
}

// open returns the JSON of all manifests of the block.
func (b *block) open() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if plain := b.plain.Value(); plain != nil {
		return *plain, nil
	}
	text, err := decompress(b.compressed)
	if err != nil {
		return nil, err
	}
	plain := &text
	b.plain = weak.Make(plain)
	return text, nil
}

// Unpack returns manifests, in the same order.
func Unpack(packed []Manifest) ([]*unstructured.Unstructured, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(packed))
	for _, m := range packed {
		body, err := m.Unpack()
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// Size returns the bytes that manifests, in the order in which Pack returned them, take compressed.
func Size(packed []Manifest) int {
	size := 0
	var last *block
	for _, m := range packed {
		if m.block != nil && m.block != last {
			size += len(m.block.compressed)
		}
		last = m.block
	}
	return size
}
