package budget

import (
	"context"
	"io"
)

// The sizes of decoded data in memory, in bytes, measured with Go 1.26 on amd64 (TestEstimates).
const (
	mapBytes    = 48
	groupBytes  = 296
	groupSlots  = 7
	listBytes   = 24
	valueBytes  = 16
	scalarBytes = 8
	// NodeBytes is the size of a map, list, value or key of decoded JSON, on average in the worst case: a map with one
	// key.
	NodeBytes = 136
)

// Map returns an estimate of the memory of a map[string]any without its keys and values.
func Map(entries int64) int64 {
	if entries == 0 {
		return mapBytes
	}
	groups := (entries + groupSlots - 1) / groupSlots
	if groups > 1 {
		groups *= 2 // Tables double.
	}
	return mapBytes + groups*groupBytes
}

// List returns an estimate of the memory of a []any without its items.
func List(items int64) int64 { return listBytes + 2*items*valueBytes }

// Text returns an estimate of the memory of a text.
func Text(bytes int64) int64 { return valueBytes + bytes }

// Scalar is an estimate of the memory of a number, a boolean or null.
const Scalar int64 = scalarBytes

// Value returns an estimate of the memory of plain data.
func Value(data any) int64 {
	switch data := data.(type) {
	case map[string]any:
		sum := Map(int64(len(data)))
		for key, value := range data {
			sum += int64(len(key)) + Value(value)
		}
		return sum
	case []any:
		sum := List(int64(len(data)))
		for _, item := range data {
			sum += Value(item)
		}
		return sum
	case string:
		return Text(int64(len(data)))
	}
	return Scalar
}

const firstBuffer = 64 << 10

// ReadAll reads all of a text of at most limit bytes, and reserves memory for it while it grows. It reads one byte more
// than the limit, so that the caller recognises a longer text.
func ReadAll(ctx context.Context, from io.Reader, limit int64) ([]byte, error) {
	from = io.LimitReader(from, limit+1)
	text, previous := make([]byte, 0, min(firstBuffer, limit+1)), 0
	if err := Reserve(ctx, int64(cap(text))); err != nil {
		return nil, err
	}
	for {
		if len(text) == cap(text) {
			// While the text is copied, both buffers are needed.
			size := int(min(2*int64(cap(text)), limit+1))
			if size == len(text) {
				return text, nil
			}
			if err := Reserve(ctx, int64(size-previous)); err != nil {
				return nil, err
			}
			previous = cap(text)
			text = append(make([]byte, 0, size), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
