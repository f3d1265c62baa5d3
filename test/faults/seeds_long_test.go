//go:build long

package faults_test

// defaultSeeds is how many seeds a long run plays.
const defaultSeeds = 300
