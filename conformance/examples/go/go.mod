module example.org/svault-webhook

go 1.21
