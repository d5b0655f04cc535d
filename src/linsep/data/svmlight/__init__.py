"""svmlight and libsvm text to rows."""
