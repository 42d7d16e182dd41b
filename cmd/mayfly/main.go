// Command mayfly is the broker's program.
package main

func main() {}
