package isolate

import "testing"

func TestCrashIsRecognised(t *testing.T) {
	for log, want := range map[string]crash{
		"fatal error: runtime: out of memory":                                          crashMemory,
		"runtime: mmap(0xc000400000, 4194304) returned 0x0, 12":                        crashMemory,
		"runtime: failed to create new OS thread (have 5 already; errno=11)":           crashMemory,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable":         crashMemory,
		"runtime: goroutine stack exceeds 67108864-byte limit":                         crashStack,
		"panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()": "",
		"": "",
	} {
		t.Run(log, func(t *testing.T) {
			b := &beginning{}
			_, _ = b.Write([]byte(log))
			if got := b.crash(); got != want {
				t.Errorf("crash() = %q, want %q", got, want)
			}
		})
	}
}
