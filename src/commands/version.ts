declare const SIGNET_VERSION: string;

/** The version of the program, put in when it is built. */
export const version: string = SIGNET_VERSION;
