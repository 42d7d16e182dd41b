package main

import "testing"

func formsInBrowser(t *testing.T, v *visit) {}
func walkInBrowser(t *testing.T, v *visit) {}
